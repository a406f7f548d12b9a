"""Files of an index: generations, checksums, manifests."""
