"""Plans and messages that the engines of the converter are compared on."""
