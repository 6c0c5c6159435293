import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Decision } from '../../src/contract/agent.ts'
import { poll } from '../../src/gateway/agent/poll.ts'
import type { Caller } from '../../src/gateway/core/caller.ts'
import type { Deps, Policies } from '../../src/gateway/core/deps.ts'
import { loadBundle } from '../../src/policy/bundle/directory.ts'
import { BUNDLE } from '../bundle.ts'
import { elsewhere, type World, writeBundle } from '../gateway-fixture.ts'

/* Gateways on the store of a world, each with a bundle of its own. */

export type Snapshot = NonNullable<ReturnType<Policies['current']>>

/** The snapshot of the bundle of the tests with these files in place of its own. */
export async function snapshotOf(files: Readonly<Record<string, string>> = {}): Promise<Snapshot> {
  const dir = await mkdtemp(join(tmpdir(), 'countersign-snapshot-'))
  try {
    await writeBundle(dir, { ...BUNDLE, ...files })
    const loaded = await loadBundle(dir)
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics))
    return loaded.snapshot
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** A gateway whose bundle is what `current` returns. */
export function gatewayWith(world: World, current: () => Snapshot): Deps {
  const { policies } = world.app.deps
  return { ...elsewhere(world), policies: { ...policies, current } }
}

const STAYS = { callerGone: () => false }

/** The decision that an agent reads at that gateway. */
export async function pollAt(deps: Deps, caller: Caller, thread_id: string): Promise<Decision> {
  return (await poll(deps, caller, { thread_id }, STAYS)).answer
}
