"""What people tell each other and are told of: who reads which comment and notification, in words and by mail."""
