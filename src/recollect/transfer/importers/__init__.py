"""Import of other systems' files. Readers yield notes and chats one at a time; only `writing` writes to memory."""
