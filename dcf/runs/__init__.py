"""The operations on a run, its notifications, its clock, and the views of its status. Sends no Redis command itself."""
