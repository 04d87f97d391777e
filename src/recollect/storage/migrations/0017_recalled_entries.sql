-- Lists the entries that were recalled most. One that was never recalled costs nothing here.
CREATE INDEX entries_recalled ON entries (agent, access_count DESC, id DESC) WHERE access_count > 0;
