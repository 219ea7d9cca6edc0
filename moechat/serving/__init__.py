"""What ``moechat serve`` is made of: the guard at the door, the agents lent to requests, and the routes."""
