import { type AcceptedLoss, LossCheck } from '../../evidence/loss-check.ts'
import type { JsonObject } from '../../contract/json.ts'
import { WIDTH } from '../../tiles/layout.ts'
import { INDEX } from '../core/indexes.ts'
import { readFileEntry, rootOfRecords } from '../core/record-files.ts'
import { fault, type PartCheck } from './part.ts'

/** Checks that the entry of each record file that left the store has the hash of its records (G19). */
export function checkFiles(): PartCheck & { readonly accepted: () => readonly AcceptedLoss[] } {
  const roots = new Map<number, string>()
  const losses = new LossCheck()
  let records: string[] = []
  return {
    lost: ({ last, root }) => losses.add(last - WIDTH + 1, root),
    event({ number, body, commitId }) {
      // other parts report a record that is no JSON
      if (body.includes('"log.lost"')) losses.take(number, JSON.parse(body) as JsonObject)
      // only records from tiles have no commit id
      if (commitId !== '') return []
      records.push(body)
      if (number % WIDTH !== 0) return []
      roots.set(number, rootOfRecords(records))
      records = []
      return []
    },
    member(entry) {
      if (entry.index !== INDEX.files) return []
      const { last, root, isLost } = readFileEntry(entry)
      const found = roots.get(last)
      roots.delete(last)
      if (isLost || found === root) return []
      return [fault('G19', `records ${last - WIDTH + 1} to ${last} are not those that left the store`)]
    },
    end: () => [
      ...[...roots.keys()].map((last) => fault('G19', `no entry has the hash of the records up to ${last}`)),
      ...losses.faults().map((what) => fault('G19', what)),
    ],
    accepted: () => losses.accepted(),
  }
}
