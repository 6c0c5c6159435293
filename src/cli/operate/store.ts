import type { Config } from '../../settings/config.ts'
import { oneOf, usage } from '../terminal/failure.ts'
import { readConfig } from './serve.ts'

export const STORE_USAGE = `countersign store check [--format text|json]
countersign store export FILE
countersign store restore FILE [--restart]
countersign store rotate-admin-key [--overlap DURATION]
countersign store rebase-time

  check    reads the whole store and reports broken laws of the store and rules of the gateway (docs/store.md). Exits 3
           if it finds one.
  export   writes a backup of the whole store, consistent within each tenant (- for standard output).
  restore  reads a backup (- for standard input) into an empty store of either kind: all of it or nothing. It voids
           every earlier approval and proof. --restart deletes the rest of an interrupted restore in Redis.
  rotate-admin-key
           puts COUNTERSIGN_ADMIN_KEY in force, or a new key that it prints once. The old key works for the overlap
           (10m, at most 7d; 0 ends it at once). Redis may be in use. On the embedded store, stop the gateway first.

  rebase-time
           brings a store back to the present, after its clock was ahead. Stop every gateway first. It voids every
           earlier approval and proof, and records the change in the evidence of each tenant.

  check and export work while gateways run.

  The store is the one that \`serve\` would use with the same flags, environment and countersign.yaml: --store,
  --store-replicas, ...

A backup holds the hashes of all keys, the secret behind the commitments in evidence, and every payload under review.
Protect it like the store. Its file has mode 0600.`

const FORMATS = ['text', 'json'] as const

/** `countersign store ...`: the store of the configuration, without a gateway. */
export async function store(args: readonly string[]): Promise<void> {
  const { own, rest } = splitFlags(args)
  const { config, positionals } = readConfig(rest)
  const [verb, file, ...more] = positionals
  if (more.length > 0) throw usage(`what is \`${more[0]}\`?`, STORE_USAGE)
  await run(config, { verb, file, own })
}

interface Asked {
  readonly verb: string | undefined
  readonly file: string | undefined
  readonly own: ReadonlyMap<string, string>
}

async function run(config: Config, { verb, file, own }: Asked): Promise<void> {
  if (file === undefined) return runHere(config, verb, own)
  if (verb !== 'export' && verb !== 'restore') throw usage(NAME_ONE, STORE_USAGE)
  const { exportStore, restoreStore } = await import('./store-backup.ts')
  if (verb === 'export') return exportStore(config, file)
  return restoreStore(config, file, { restart: own.has('restart') })
}

const NAME_ONE = 'name a command: check, export, restore, rotate-admin-key or rebase-time'

/** The commands without a file. */
async function runHere(config: Config, verb: string | undefined, own: Asked['own']): Promise<void> {
  if (verb === 'check') {
    const format = oneOf(own.get('format') ?? 'text', FORMATS, '--format')
    return (await import('./store-check.ts')).checkStoreOf(config, format)
  }
  if (verb === 'rotate-admin-key')
    return (await import('./store-admin-key.ts')).rotateAdminKeyOf(config, own.get('overlap') ?? '10m')
  if (verb === 'rebase-time') return (await import('./store-rebase.ts')).rebaseTimeOf(config)
  if (verb === 'export' || verb === 'restore') throw usage('name a file', STORE_USAGE)
  throw usage(NAME_ONE, STORE_USAGE)
}

const VALUED = ['format', 'overlap'] as const

/** The flags of these commands, and those of `serve`, which config.ts reads. */
function splitFlags(args: readonly string[]): { own: Map<string, string>; rest: string[] } {
  const own = new Map<string, string>()
  const rest: string[] = []
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? ''
    if (arg === '--restart') own.set('restart', '')
    else {
      const name = VALUED.find((flag) => arg === `--${flag}` || arg.startsWith(`--${flag}=`))
      if (name === undefined) rest.push(arg)
      else own.set(name, arg === `--${name}` ? (args[++i] ?? '') : arg.slice(name.length + 3))
    }
  }
  return { own, rest }
}
