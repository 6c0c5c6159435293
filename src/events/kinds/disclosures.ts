import { disclosuresErased, disclosuresExpired, logLost } from '../laws/disclosures.ts'
import { number, ranges, text, texts } from '../record/field.ts'
import { event } from './event.ts'

/** Deletions of disclosures, by which a reader of the log knows why they are gone. */
export const DISCLOSURES = {
  'disclosures.expired': event({
    of: 'set of old disclosures',
    says: 'was deleted when its time was over',
    by: ['gateway:timer'],
    system: 'too',
    logged: { up_to: number('the number of the last record whose disclosures are deleted') },
    law: disclosuresExpired,
  }),
  'log.lost': event({
    of: 'set of records that left the store',
    says: 'is lost for good, with its disclosures',
    by: ['admin'],
    system: 'too',
    logged: {
      from: number('the number of the first lost record'),
      reason: text("the administrator's reason"),
      roots: texts('the Merkle tree hashes of its record files, 256 records each'),
      to: number('the number of the last lost record'),
    },
    law: logLost,
  }),
  'disclosures.erased': event({
    of: 'set of disclosures',
    says: 'was erased',
    by: ['admin'],
    system: 'too',
    logged: {
      members: number('the number of erased members'),
      reason: text("the administrator's reason"),
      records: ranges('the numbers of their records, as pairs of first and last'),
      threads: number('the number of deleted threads'),
    },
    law: disclosuresErased,
  }),
}
