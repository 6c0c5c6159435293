import type { Config } from '../../settings/config.ts'
import { oneOf, usage } from '../terminal/failure.ts'
import { readConfig } from './serve.ts'

export const STORE_USAGE = `countersign store check [--format text|json]
countersign store export FILE
countersign store restore FILE [--restart]

  check    reads the whole store and reports what breaks one of its laws, or a rule of the gateway (docs/store.md). Exits 3 when something does.
  export   writes a backup of everything, as it was at one moment in each tenant. Redis may be in use meanwhile; a gateway on the
           embedded store must be stopped first. - writes to standard output.
  restore  brings a backup back into an empty store, of either kind: all of it or nothing. Every approval and token of before is void then.
           --restart drops what a broken-off restore left in Redis. - reads from standard input.

  The store is the one that \`serve\` with the same flags, environment and countersign.yaml would use: --store, --store-replicas, ...

A backup holds the hashes of all keys, the secret behind the commitments in evidence, and every payload under review: keep it like the store
itself. It is written with mode 0600.`

const FORMATS = ['text', 'json'] as const

/** `countersign store check | export | restore`: the store of the configuration, without a gateway. */
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
  if (verb === 'check' && file === undefined) {
    const format = oneOf(own.get('format') ?? 'text', FORMATS, '--format')
    return (await import('./store-check.ts')).checkStoreOf(config, format)
  }
  if (verb !== 'export' && verb !== 'restore') throw usage('check, export or restore?', STORE_USAGE)
  if (file === undefined) throw usage('name a file', STORE_USAGE)
  const { exportStore, restoreStore } = await import('./store-backup.ts')
  if (verb === 'export') return exportStore(config, file)
  return restoreStore(config, file, { restart: own.has('restart') })
}

/** The flags of these commands, and those of `serve`, which config.ts reads. */
function splitFlags(args: readonly string[]): { own: Map<string, string>; rest: string[] } {
  const own = new Map<string, string>()
  const rest: string[] = []
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? ''
    if (arg === '--restart') own.set('restart', '')
    else if (arg === '--format') own.set('format', args[++i] ?? '')
    else if (arg.startsWith('--format=')) own.set('format', arg.slice('--format='.length))
    else rest.push(arg)
  }
  return { own, rest }
}
