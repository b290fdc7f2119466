"""Reports in the forms that build servers read. Values in, text out: any command or job makes its values and prints."""
