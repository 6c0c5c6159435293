import { describe, expect, it } from 'vitest'
import { chooseLines } from '../../src/cli/operate/evidence-about.ts'

/** `evidence export --field --equals`: the records about one value. */

interface Given {
  readonly thread?: string
  readonly members?: object
}

const lineOf = ({ thread, members }: Given, i: number): string =>
  JSON.stringify({
    number: i + 1,
    ...(members && { disclosures: { members, seed: 'A'.repeat(22) } }),
    record: { type: 'x', ...(thread && { thread_id: thread }) },
  })

async function chosen(
  field: string,
  equals: string,
  pages: readonly (readonly Given[])[],
): Promise<number[]> {
  const choose = chooseLines(field, equals)
  const numbers: number[] = []
  let count = 0
  for (const page of pages) {
    const text = page.map((one) => `${lineOf(one, count++)}\n`).join('')
    async function* source(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(Buffer.from(text))
    }
    for await (const bytes of choose(source()))
      numbers.push((JSON.parse(Buffer.from(bytes).toString()) as { number: number }).number)
  }
  return numbers
}

describe('the records about a value', () => {
  it('have it in the field, in a list of the field, or in the payload of a report', async () => {
    const page = [
      { members: { 'reads.payload.to': 'eve' } },
      { members: { 'reads.payload.to': ['ann', 'eve'] } },
      { members: { payload: { to: 'eve' } } },
      { members: { 'reads.payload.from': 'eve' } },
      { members: { 'reads.payload.to': 'evelyn' } },
      {},
    ]
    expect(await chosen('payload.to', 'eve', [page])).toEqual([1, 2, 3])
  })

  it('have a number or a boolean as it is written', async () => {
    const page = [{ members: { 'reads.payload.id': 17 } }, { members: { 'reads.payload.id': '17' } }]
    expect(await chosen('payload.id', '17', [page])).toEqual([1, 2])
  })

  it('include later records of their threads, also on later pages', async () => {
    const first = [{ thread: 'a', members: { 'reads.payload.to': 'eve' } }, { thread: 'b' }]
    expect(await chosen('payload.to', 'eve', [first, [{ thread: 'a' }, { thread: 'b' }]])).toEqual([1, 3])
  })
})
