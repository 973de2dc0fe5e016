"""Cases recorded on AWS, against the whole engine."""
