// Stands for the vendor's module: the same class, by calls of `recollect mcp --compat server-memory`.
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'fs';
import { tmpdir } from 'os';
import path from 'path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

export type Entity = { name: string; entityType: string; observations: string[] };
export type Relation = { from: string; to: string; relationType: string };
export type KnowledgeGraph = { entities: Entity[]; relations: Relation[] };

// One server for all tests, over one file: the file of a test is copied there before each call, and back after it.
const served = path.join(mkdtempSync(path.join(tmpdir(), 'graph-')), 'memory.jsonl');
let server: Promise<Client> | undefined;

async function connect(): Promise<Client> {
  const client = new Client({ name: 'suite', version: '1' });
  const env = { ...process.env, MEMORY_FILE_PATH: served } as Record<string, string>;
  const args = ['-m', 'recollect', 'mcp', '--compat', 'server-memory'];
  await client.connect(new StdioClientTransport({ command: process.env.SUITE_PYTHON!, args, env }), { timeout: 120_000 });
  return client;
}

function copy(from: string, to: string): void {
  rmSync(to, { force: true });
  if (existsSync(from)) copyFileSync(from, to);
}

export class KnowledgeGraphManager {
  constructor(private file: string) {}

  private async call(name: string, given: Record<string, unknown> = {}): Promise<any> {
    const client = await (server ??= connect());
    copy(this.file, served);
    const result: any = await client.callTool({ name, arguments: given });
    copy(served, this.file);
    if (result.isError) throw new Error(result.content[0].text);
    return result.structuredContent;
  }

  createEntities = async (entities: Entity[]) => (await this.call('create_entities', { entities })).entities;
  createRelations = async (relations: Relation[]) => (await this.call('create_relations', { relations })).relations;
  addObservations = async (observations: object[]) => (await this.call('add_observations', { observations })).results;
  deleteEntities = (entityNames: string[]) => this.call('delete_entities', { entityNames });
  deleteObservations = (deletions: object[]) => this.call('delete_observations', { deletions });
  deleteRelations = (relations: Relation[]) => this.call('delete_relations', { relations });
  readGraph = () => this.call('read_graph');
  searchNodes = (query: string) => this.call('search_nodes', { query });
  openNodes = (names: string[]) => this.call('open_nodes', { names });
}
