import { RISKS } from '../../domain/decision.ts'
import type { LevelView } from '../language/level-view.ts'
import type { BundleIr } from '../language/rule.ts'
import { duration } from '../language/time.ts'
import type { Direction } from './outcome.ts'

/** A change to how a level is decided, as one line. */
export interface LevelChange {
  readonly direction: Direction
  /** `level low: may be decided in a chat`. */
  readonly text: string
}

/** Compares where the levels may be decided. A chat proves less than the console. */
export function diffLevels(before: BundleIr, after: BundleIr): readonly LevelChange[] {
  return RISKS.flatMap((risk): LevelChange[] => {
    const [one, other] = [before, after].map(({ head }) => within(head.routing.views[risk]))
    if (one === undefined || other === undefined || one === other) return []
    return [{ direction: other > one ? 'loosens' : 'tightens', text: `level ${risk}: ${words(other)}` }]
  })
}

/** The time within which a reviewer must have used the console: 0 without a chat. */
const within = ({ chat }: LevelView): number =>
  chat === undefined ? 0 : (chat.signed_in_within_ms ?? Infinity)

function words(ms: number): string {
  if (ms === 0) return 'is not decided in a chat'
  const who = ms === Infinity ? '' : ` by those who used the console within ${duration(ms)}`
  return `may be decided in a chat${who}`
}
