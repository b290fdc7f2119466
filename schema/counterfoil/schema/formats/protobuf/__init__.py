"""Protocol Buffers: parsing, texts, descriptors and comparison."""
