import { command } from '../terminal/command.ts'
import { parse } from '../terminal/parse.ts'
import { readSettings } from './read-settings.ts'
import { FLAGS_OF_SERVE } from './serve.ts'

export const STORE = command({
  name: 'store',
  says: `Checks, backs up, restores and moves the store that \`serve\` would use with the same flags, environment and
    countersign.yaml: --store, --store-replicas, ... check, size and export work while gateways run.`,
  subcommands: {
    check: {
      flags: ['format'],
      says: `Reads the whole store and reports every violated invariant (docs/store.md). Exits 3
        if it finds one.`,
    },
    size: {
      flags: ['format'],
      says: `Prints count and bytes of each kind of data, for each tenant, and how much evidence the last day added
        (docs/data.md).`,
    },
    export: {
      operands: 'FILE',
      says: 'Writes a backup of the whole store, consistent within each tenant (- for standard output).',
    },
    restore: {
      operands: 'FILE',
      flags: ['restart'],
      says: `Reads a backup (- for standard input) into an empty store of either kind: all of it or nothing. It voids every
        earlier approval and proof.`,
    },
    compact: {
      says: `Returns the free space of an embedded store to the disk. Stop the gateway first. The disk needs room for a
        second copy of the data.`,
    },
    'rotate-admin-key': {
      flags: ['overlap'],
      says: `Puts COUNTERSIGN_ADMIN_KEY in force, or a new key that it prints once. Redis may be in use. On the embedded
        store, stop the gateway first.`,
    },
  },
  flags: {
    format: { values: ['text', 'json'], default: 'text' },
    restart: { says: 'deletes the rest of an interrupted restore in Redis' },
    overlap: {
      takes: 'DURATION',
      default: '10m',
      says: 'how long the old admin key works, at most 7d; 0 ends it at once',
    },
  },
  settings: FLAGS_OF_SERVE,
  notes: `A backup holds the hashes of all keys, the secret behind the commitments in evidence, and every payload under review.
Protect it like the store. Its file has mode 0600.`,
})

/** `countersign store ...`: the store of the configuration, without a gateway. */
export async function store(args: readonly string[]): Promise<void> {
  const asked = parse(STORE, args)
  const { values, operands } = asked
  const { config } = readSettings(asked)
  const [file = ''] = operands
  switch (asked.subcommand) {
    case 'check':
      return (await import('./store-check.ts')).checkStoreOf(config, values.format)
    case 'size':
      return (await import('./store-size.ts')).sizeStoreOf(config, values.format)
    case 'export':
      return (await import('./store-backup.ts')).exportStore(config, file)
    case 'restore':
      return (await import('./store-backup.ts')).restoreStore(config, file, { restart: values.restart })
    case 'compact':
      return (await import('./store-compact.ts')).compactStoreOf(config)
    case 'rotate-admin-key':
      return (await import('./store-admin-key.ts')).rotateAdminKeyOf(config, values.overlap)
  }
}
