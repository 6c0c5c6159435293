import { NotProved, openProof, proveByPath, proveRecord } from '../../evidence/prove.ts'
import { readProved } from '../../tiles/export.ts'
import { exported, keptText } from '../author/evidence-files.ts'
import { CliFailure, EXIT } from '../terminal/failure.ts'
import { isPlace, withLog } from './evidence-place.ts'
import { jsonOf, visible } from '../terminal/visible-text.ts'

/** `countersign evidence prove`: prints a proof for one record. The proof needs no other record. */
export async function proveOne(
  file: string,
  {
    number,
    key,
    checkpoint,
  }: { readonly number: number; readonly key: readonly string[]; readonly checkpoint: string | undefined },
): Promise<void> {
  const wanted = {
    number,
    note: checkpoint === undefined ? '' : keptText(checkpoint),
    verifierKeys: keysIn(key),
  }
  const proof = isPlace(file)
    ? withLog(file, ({ place, note, size }) =>
        proveByPath((at) => readProved(place, at, size), { ...wanted, note: wanted.note || note }),
      )
    : proveRecord(exported(file), wanted)
  process.stdout.write(await proof.catch(refused))
}

/**
 * `countersign evidence verify-proof`: prints the record when the proof holds. Exits with 3 when the proof does not
 * hold.
 */
export async function verifyProof(
  file: string,
  options: { readonly key: readonly string[]; readonly json: boolean },
): Promise<void> {
  const text = keptText(file)
  const keys = keysIn(options.key)
  const proved = await Promise.resolve()
    .then(() => openProof(text, keys))
    .catch(refused)
  const { number, record, checkpoint } = proved
  if (options.json) return console.log(jsonOf({ number, record: JSON.parse(record) as unknown, checkpoint }))
  console.log(visible(record))
  console.error(
    `It is record ${number} of the ${checkpoint.size} of ${checkpoint.origin} that were signed at ${checkpoint.at}.`,
  )
}

const keysIn = (files: readonly string[]): string[] => files.map((file) => keptText(file).trim())

function refused(error: unknown): never {
  if (!(error instanceof NotProved)) throw error
  throw new CliFailure(error.message, { exit: EXIT.doesNotCheck, cause: error })
}
