"""What tests of pages share: values of every page, and HTML as a tree."""
