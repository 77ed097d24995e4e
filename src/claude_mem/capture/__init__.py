"""What runs inside the hook process. Standard library only, and as little of that as possible."""
