"""The shapes by which the stages see each other, in the words of the domain."""
