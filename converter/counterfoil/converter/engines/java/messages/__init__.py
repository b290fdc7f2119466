"""Generated classes that read messages of any language into objects, and write objects."""
