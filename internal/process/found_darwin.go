package process

// gone returns when the process is not alive any more.
func gone(id Identity) { goneByLooking(id) }
