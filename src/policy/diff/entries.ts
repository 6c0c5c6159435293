import type { JsonObject } from '../../contract/json.ts'
import { compileMember, type EntryMatch, type Member } from '../language/entries.ts'
import { compileTest, type Test } from '../language/operators.ts'
import { FALSE, TRUE, UNKNOWN, type Truth } from '../language/truth.ts'
import type { Place } from './place.ts'
import { remember } from '../language/remember.ts'

/**
 * An entry is a small call: its members are dimensions, and its matches are the rules. The remainder of a match is what
 * is left of it once some members are known. Entries with the same remainders have the same answers, whatever their
 * other members are. So one of them is enough, and the examples never multiply.
 */
export function remainderOf(
  place: Place,
): (entry: JsonObject, known: ReadonlySet<string>) => readonly string[] {
  const matches = place.tests.flatMap(({ test }) => matchesIn(test))
  const asks = new Map<Member<Test>, (entry: JsonObject) => Truth>()
  const askOf = (member: Member<Test>): ((entry: JsonObject) => Truth) =>
    remember(asks, member, () => compileMember(member, compileTest(member.test)))
  const numbers = new Map<Member<Test>, number>()
  const numberOf = (member: Member<Test>): number => remember(numbers, member, () => numbers.size)

  function rest(node: EntryMatch<Test>, entry: JsonObject, known: ReadonlySet<string>): string {
    if (node.kind === 'leaf')
      return known.has(String(node.path[0])) ? String(askOf(node)(entry)) : `m${numberOf(node)}`
    if (node.kind === 'not') {
      const item = rest(node.item, entry, known)
      return OPPOSITE[item] ?? `!(${item})`
    }
    const [stops, passes] = node.kind === 'all' ? [NO, YES] : [YES, NO]
    const items = node.items.map((item) => rest(item, entry, known))
    if (items.includes(stops)) return stops
    const left = [...new Set(items.filter((item) => item !== passes))].sort()
    return left.length < 2 ? (left[0] ?? passes) : `${node.kind}(${left.join()})`
  }

  return (entry, known) => matches.map((match) => rest(match, entry, known))
}

const [NO, YES] = [String(FALSE), String(TRUE)]
const OPPOSITE: Readonly<Record<string, string>> = {
  [NO]: YES,
  [YES]: NO,
  [String(UNKNOWN)]: String(UNKNOWN),
}

function matchesIn(test: Test): readonly EntryMatch<Test>[] {
  if ('match' in test) return [test.match]
  if ('tests' in test) return test.tests.flatMap(matchesIn)
  return test.op === 'not' ? matchesIn(test.test) : []
}
