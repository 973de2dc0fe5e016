"""Where a command works: on the control plane of this machine, or at a server. `dcf context show` names the places."""
