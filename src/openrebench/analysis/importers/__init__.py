"""Tables of attempts from elsewhere, and the way back."""
