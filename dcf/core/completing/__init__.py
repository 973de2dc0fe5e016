"""The writes of holders, the ends of states without a holder, and the states that are entered then. Pure."""
