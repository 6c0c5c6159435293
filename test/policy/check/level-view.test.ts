import { describe, expect, it } from 'vitest'
import { bundle, diagnose, ROUTING, snapshotOf } from '../support.ts'

const LOW = 'expires: 8h }'
const withLow = (keys: string): string => ROUTING.replace(LOW, `expires: 8h, ${keys} }`)
const withList = (text: string, list: string): string => text.replace('lists:\n', `lists:\n  ${list}\n`)
const problemsOf = async (keys: string): Promise<string[]> =>
  (await diagnose(bundle({ 'routing.yaml': withLow(keys) }))).map(({ message }) => message)

describe('how a level is reviewed', () => {
  it('has no comments, and requires reveals from medium risk up, unless the file says otherwise', async () => {
    const { views } = await snapshotOf(bundle())
    expect(views).toEqual({
      low: { comments: [], reveal: 'optional' },
      medium: { comments: [], reveal: 'required' },
      high: { comments: [], reveal: 'required' },
      critical: { comments: [], reveal: 'required' },
    })
  })

  it('is what the file says', async () => {
    const text = withLow('comments: [One., Two.], reveal: required, require_comment: true')
    const { views, routing } = await snapshotOf(bundle({ 'routing.yaml': text }))
    expect(views.low).toEqual({ comments: ['One.', 'Two.'], reveal: 'required' })
    expect(routing.levels.low).toMatchObject({ require_comment: true })
    expect(routing.levels.low).not.toHaveProperty('require_displayed')
  })

  it.each([
    [`comments: [${'a, '.repeat(9)}a]`, '`comments` has at most 9 texts'],
    [`comments: [${'a'.repeat(201)}]`, 'each comment is one line of at most 200 characters'],
    ['comments: [""]', 'each entry of `comments` must not be empty'],
    ['comments: yes', '`comments` must be a list'],
    ['reveal: maybe', '`maybe` is not a value for `reveal`'],
    ['require_comment: 1', '`require_comment` must be true or false'],
    ['chat: maybe', '`chat` must be true or false'],
    ['chat: { signed_in_within: 0m }', '`0m` is not a duration'],
    ['chat: {}', 'signed_in_within'],
    ['chat: true, interactive: true', 'a vote in a chat is no sign-in to the console'],
    ['require_displayed: "x"', '`require_displayed` must be true or false'],
  ])('is refused: %s', async (keys, problem) => {
    expect((await problemsOf(keys)).join()).toContain(problem)
  })

  it('is not decided in a chat unless the file says so, and never at critical risk', async () => {
    const low = async (keys: string) =>
      (await snapshotOf(bundle({ 'routing.yaml': withLow(keys) }))).views.low.chat
    expect(await low('chat: true')).toEqual({})
    expect(await low('chat: false')).toBeUndefined()
    expect(await low('chat: { signed_in_within: 15m }')).toEqual({ signed_in_within_ms: 900_000 })
    const critical = async (chat: string) => {
      const text = ROUTING.replace(/(critical:.*) \}/, `$1, chat: ${chat} }`)
      return (await diagnose(bundle({ 'routing.yaml': text }))).map(({ message }) => message)
    }
    expect(await critical('true')).toEqual(['a call of critical risk is not decided in a chat'])
    expect(await critical('{}')).toEqual(['`chat` needs `signed_in_within:`'])
  })

  it('has working time, with days, hours, holidays of a list, and the time zone of the file', async () => {
    const text = withLow('working: { days: [mon-wed, fri], hours: 08:00-24:00, holidays: $off }')
    const { routing } = await snapshotOf(
      bundle({ 'routing.yaml': withList(text, 'off: [2027-01-01, 2026-12-25]') }),
    )
    expect(routing.levels.low.working).toEqual({
      timezone: 'Europe/Berlin',
      days: ['mon', 'tue', 'wed', 'fri'],
      opens: 480,
      closes: 1_440,
      holidays: ['2026-12-25', '2027-01-01'],
    })
    const over = await snapshotOf(
      bundle({ 'routing.yaml': withLow('working: { days: [sat-mon], hours: 00:00-00:30 }') }),
    )
    expect(over.routing.levels.low.working?.days).toEqual(['mon', 'sat', 'sun'])
  })

  it.each([
    ['{ days: [], hours: 08:00-18:00 }', '`days` has days such as `mon`'],
    ['{ days: [monday], hours: 08:00-18:00 }', '`days` has days such as `mon`'],
    ['{ days: [mon-fri-sat], hours: 08:00-18:00 }', '`days` has days such as `mon`'],
    ['{ days: mon-fri, hours: 08:00-18:00 }', '`days` must be a list'],
    ['{ days: [mon], hours: 18:00-08:00 }', '`hours` is a part of one day'],
    ['{ days: [mon], hours: 08:00-24:30 }', '`hours` is a part of one day'],
    ['{ days: [mon], hours: 8-18 }', '`hours` is a part of one day'],
    ['{ days: [mon] }', 'hours'],
    ['{ days: [mon], hours: 08:00-08:01 }', 'the level expires after more than 366 working days'],
    ['{ days: [mon], hours: 08:00-18:00, holidays: $nowhere }', '`$nowhere` is no list'],
    ['{ days: [mon], hours: 08:00-18:00, holidays: $words }', 'which is no date'],
  ])('refuses the working time %s', async (working, problem) => {
    const text = withList(withLow(`working: ${working}`), 'words: [christmas]')
    expect((await diagnose(bundle({ 'routing.yaml': text }))).map(({ message }) => message).join()).toContain(
      problem,
    )
  })

  it('refuses more holidays than a held call can look at', async () => {
    const days = Array.from({ length: 1_001 }, (_, i) => new Date(i * 86_400_000).toISOString().slice(0, 10))
    const text = withLow('working: { days: [mon], hours: 08:00-18:00, holidays: $off }')
    const found = await diagnose(bundle({ 'routing.yaml': text, 'lists/off.txt': days.join('\n') }))
    expect(found.map(({ message }) => message).join()).toContain('has more than 1000 days')
  })

  it('is reported where a higher level of the same group needs less', async () => {
    const text = withLow('require_displayed: true').replace('group: team-leads', 'group: on-call')
    const [first] = await diagnose(bundle({ 'routing.yaml': text }))
    expect(first?.message).toBe(
      'level medium does without the displayed parts of level low of the same group',
    )
  })
})

describe('the retention of threads, disclosures and records of evidence', () => {
  const withRetention = (text: string) => bundle({ 'routing.yaml': `${text}\n${ROUTING}` })

  it('is 30, 90 and 7 days, and 90 for tasks, or what the file says', async () => {
    const days = (threads: number, disclosures: number, log: number, tasks = 90) => ({
      threads_ms: threads * 86_400_000,
      disclosures_ms: disclosures * 86_400_000,
      log_in_store_ms: log * 86_400_000,
      tasks_ms: tasks * 86_400_000,
    })
    expect((await snapshotOf(bundle())).retention).toEqual(days(30, 90, 7))
    const files = withRetention('retention: { threads: 10d, disclosures: 1d, log_in_store: 2d, tasks: 31d }')
    expect((await snapshotOf(files)).retention).toEqual(days(10, 1, 2, 31))
    const long = withRetention('retention: { threads: 366d, disclosures: 90d, log_in_store: 3660d }')
    expect((await snapshotOf(long)).retention).toEqual(days(366, 90, 3_660))
    const [first] = await diagnose(withRetention('retention: { disclosures: 3661d }'))
    expect(first).toMatchObject({
      message: '`3661d` is not a duration',
      hint: 'write digits and s, m, h or d, such as `30m`, at most 3660 days',
    })
  })

  it('is never shorter than agents may ask about their proofs', async () => {
    const [first] = await diagnose(withRetention('retention: { threads: 7d }'))
    expect(first?.message).toContain('threads stay for at least 8d')
    const [other] = await diagnose(withRetention('retention: { disclosures: 23h }'))
    expect(other?.message).toContain('disclosures stay for at least 1d')
    const [third] = await diagnose(withRetention('retention: { log_in_store: 23h }'))
    expect(third?.message).toContain('records of evidence stay in the store for at least 1d')
    const [fourth] = await diagnose(withRetention('retention: { tasks: 30d }'))
    expect(fourth?.message).toContain('the history of tasks stays for at least 31d, because rules may count')
  })

  it('is never shorter than the window of a limit, which the finding names', async () => {
    const limits = (within: string) =>
      `limits:\n  - { id: monthly, reject: R., count: calls, at_most: 9, within: ${within}, per: agent }\nrules: [{ id: any, review: R., mode: shadow }]\n`
    const files = (within: string) => ({
      ...withRetention('retention: { threads: 10d }'),
      'rules/limits.yaml': `tool: pay\n${limits(within)}`,
    })
    const [first, ...rest] = await diagnose(files('11d'))
    expect(first).toMatchObject({
      code: 'bad-value',
      file: 'routing.yaml',
      message: 'threads stay for 10d, but limit `monthly` of rules/limits.yaml counts the calls of 11d',
    })
    expect(rest).toEqual([])
    expect(await diagnose(files('10d'))).toEqual([])
    expect(await diagnose({ ...bundle(), 'rules/limits.yaml': `tool: pay\n${limits('31d')}` })).toEqual([])
  })
})
