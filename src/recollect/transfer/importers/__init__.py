"""Other systems' files as notes and chats. A reader only reads, one item at a time; `writing` alone writes."""
