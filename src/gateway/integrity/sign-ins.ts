import type { LinkedAccount } from '../../domain/linked-account.ts'
import type { Link, Session } from '../../domain/session.ts'
import type { Fault } from '../../store/archive.ts'
import { fault, type PartCheck } from './part.ts'
import { purged, readPurged } from '../core/expiry-index.ts'
import { INDEX } from '../core/indexes.ts'

/**
 * Checks sessions, links and linked accounts, and their index entries (G11): by reviewer, for ending them together, and
 * by the timer.
 */
export function checkSignIns(): PartCheck {
  const listed = new Map<string, string>()
  const timed = new Set<string>()
  const used = new Set<string>()
  /** Linked accounts without the record of their reviewer, which comes after them. */
  const halves = new Set<string>()

  const signIn = (member: string, { reviewer, expires_at }: Session | Link | LinkedAccount): Fault[] => {
    const expected = `${expires_at} ${INDEX.signIns(reviewer)}`
    const found = listed.get(member)
    listed.delete(member)
    return [
      ...(found === expected ? [] : [fault('G11', `${named(member)} is not listed for \`${reviewer}\``)]),
      ...(timed.has(member) ? [] : [fault('G11', `${named(member)} would never end by itself`)]),
    ]
  }

  return {
    member({ index, score, member }) {
      if (index.startsWith(INDEX.signIns(''))) listed.set(member, `${score} ${index}`)
      if (index === INDEX.purge && /^(?:session|link|linked) /.test(member)) timed.add(member)
      return []
    },
    record(type, id, value) {
      if (type === 'seen') used.add(id)
      if (type === 'session') used.delete(id)
      if (type === 'linked') halves.add(halfOf(value as LinkedAccount))
      const half = `${id}/${(value as { readonly member?: string }).member}`
      if (type === 'linked_in' && !halves.delete(half)) return [fault('G11', `${half} is not linked`)]
      return type === 'session' || type === 'link' || type === 'linked'
        ? signIn(purged(type, id), value as Session | Link | LinkedAccount)
        : []
    },
    end: () => [
      ...[...halves].map((half) => fault('G11', `${half} is linked, but could be linked twice`)),
      ...[...listed.keys()].map((member) => fault('G11', `${named(member)} is listed, but does not exist`)),
      ...[...used].map((hash) =>
        fault('G11', `the use of session \`${hash}\` is recorded, but the session does not exist`),
      ),
    ],
  }
}

const halfOf = ({ reviewer, workspace, member }: LinkedAccount): string =>
  `${reviewer}/${workspace}/${member}`

function named(member: string): string {
  const { type, id } = readPurged(member)
  return `${type} \`${id}\``
}
