import type { Member } from './entries.ts'
import { OPERATORS, type Test } from './operators.ts'
import { leavesIn, mapLeaves } from './tree.ts'

/** Yields the test and every test inside it. */
export function* testsIn(test: Test): Generator<Test> {
  yield test
  for (const one of partsOf(test)) yield* testsIn(one)
}

function partsOf(test: Test): readonly Test[] {
  if ('test' in test) return 'where' in test && test.where ? [test.test, test.where] : [test.test]
  if ('match' in test) return leavesIn(test.match).map((member) => member.test)
  return 'tests' in test ? test.tests : []
}

/** Returns true for a test that reads members of entries. */
export const readsMembers = (test: Test): boolean => 'match' in test || partsOf(test).some(readsMembers)

/** Returns the test with another form of each test of a member. Members inside members change first. */
export function changeMembers(
  test: Test,
  change: (member: Member<Test>, lists: readonly Member<Test>[]) => Member<Test>,
  lists: readonly Member<Test>[] = [],
): Test {
  const inside = (one: Test): Test => changeMembers(one, change, lists)
  if ('match' in test) {
    const match = mapLeaves(test.match, (member) =>
      change({ ...member, test: changeMembers(member.test, change, [...lists, member]) }, lists),
    )
    return { ...test, match }
  }
  if ('tests' in test) return { ...test, tests: test.tests.map(inside) }
  if (!('test' in test)) return test
  const own = { ...test, test: inside(test.test) }
  return 'where' in own && own.where ? { ...own, where: inside(own.where) } : own
}

/**
 * Returns true for a test that checks only whether the field is present. Such a test sees the payload as sent, without
 * defaults.
 */
export function asksPresence(test: Test): boolean {
  if (test.op === 'and') return test.tests.every(asksPresence)
  return test.op === 'not' ? asksPresence(test.test) : OPERATORS[test.op].asks === 'presence'
}

/**
 * Returns true for a test that checks whether the field is null, also inside `not`. `missing_means` must not replace
 * that null.
 */
export function asksNull(test: Test): boolean {
  return test.op === 'not' ? asksNull(test.test) : OPERATORS[test.op].asks === 'null'
}
