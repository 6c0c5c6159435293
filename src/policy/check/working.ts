import type { WorkingTime } from '../../domain/decision.ts'
import type { Scalar } from '../language/compiled-test.ts'
import { isDate, MINUTE_MS, WEEKDAYS, type Weekday } from '../language/time.ts'
import type { Doc } from '../yaml/parse.ts'
import { readMap, readText, readTexts, type Reader } from '../yaml/shape.ts'
import { SEEN } from './change.ts'
import { key, list, need, readSpec, schemaOf, type SoFar, specOf, value } from './spec.ts'

/** A year of working days: a longer wait would look for its end too long. */
const MOST_DAYS = 366

/** A held call looks at each of these days. */
const MOST_HOLIDAYS = 1_000

export type Lists = ReadonlyMap<string, readonly Scalar[]>

/** The parts of routing.yaml that working time refers to. */
export interface Calendar {
  readonly lists: Lists
  readonly timezone: string
}

const DAYS = WEEKDAYS.join('|')
const DAY = { type: 'string', pattern: `^(?:${DAYS})(?:-(?:${DAYS}))?$` }
const HOURS_OF_DAY = { type: 'string', pattern: String.raw`^[0-2]\d:[0-5]\d-[0-2]\d:[0-5]\d$` }
const LIST = { type: 'string', pattern: String.raw`^\$` }

interface Hours extends Pick<WorkingTime, 'days' | 'holidays'> {
  readonly hours: Pick<WorkingTime, 'opens' | 'closes'>
}

const WORKING_KEYS = specOf<Hours, Calendar>()('`working`', {
  days: need('days', value(checkDays, list(DAY)), '', SEEN),
  hours: need('hours', value(checkHours, HOURS_OF_DAY), '', SEEN),
  holidays: key('holidays', value(checkHolidays, LIST), 'A list of dates.', SEEN),
})

/** `working`, the hours in which the times of the level count. Lists of holidays name dates. */
export const WORKING = value(readWorking, schemaOf(WORKING_KEYS))

function readWorking(
  reader: Reader,
  doc: Doc,
  what: string,
  { soFar: { expires_ms = 0 }, ...calendar }: Calendar & SoFar<{ readonly expires_ms?: number }>,
): WorkingTime | undefined {
  const map = readMap(reader, doc, what)
  if (!map) return undefined
  const { hours, days, holidays = [] } = readSpec(reader, map, WORKING_KEYS, calendar).entry
  if (hours && expires_ms > MOST_DAYS * (hours.closes - hours.opens) * MINUTE_MS)
    reader.report('bad-value', doc, `the level expires after more than ${MOST_DAYS} working days`)
  return days && hours && { timezone: calendar.timezone, days, ...hours, holidays }
}

/** Reads days of the week, and ranges such as `mon-fri`. */
function checkDays(reader: Reader, doc: Doc): readonly Weekday[] | undefined {
  const texts = readTexts(reader, doc, '`days`')
  const days = texts?.map(daysIn)
  if (days?.every((one) => one !== undefined) && days.length > 0)
    return WEEKDAYS.filter((day) => days.some((one) => one.includes(day)))
  if (texts) reader.report('bad-value', doc, '`days` has days such as `mon`, or ranges such as `mon-fri`')
  return undefined
}

function daysIn(text: string): readonly Weekday[] | undefined {
  const [first, last = first, ...more] = text
    .split('-')
    .map((day) => WEEKDAYS.findIndex((one) => one === day))
  if (first === undefined || last === undefined || first < 0 || last < 0 || more.length > 0) return undefined
  return WEEKDAYS.filter((_, i) => (first <= last ? i >= first && i <= last : i >= first || i <= last))
}

const HOURS = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-4]):([0-5]\d)$/

/** Reads hours of a day such as `08:00-18:00`; `24:00` is the end of the day. */
function checkHours(reader: Reader, doc: Doc): Pick<WorkingTime, 'opens' | 'closes'> | undefined {
  const text = readText(reader, doc, '`hours`')
  if (text === undefined) return undefined
  const [hour = 0, minute = 0, toHour = 0, toMinute = 0] = HOURS.exec(text)?.slice(1).map(Number) ?? []
  const [opens, closes] = [hour * 60 + minute, toHour * 60 + toMinute]
  if (opens < closes && closes <= MINUTES_OF_DAY) return { opens, closes }
  return reader.report('bad-value', doc, '`hours` is a part of one day, such as `08:00-18:00`')
}

const MINUTES_OF_DAY = 24 * 60

function checkHolidays(
  reader: Reader,
  doc: Doc,
  what: string,
  { lists }: Calendar,
): readonly string[] | undefined {
  const text = readText(reader, doc, what)
  if (text === undefined) return undefined
  const days = text.startsWith('$') ? lists.get(text.slice(1)) : undefined
  if (days === undefined) {
    const hint = 'write `holidays: $public_holidays`, and the dates under `lists`'
    return reader.report('bad-value', doc, `\`${text}\` is no list`, hint)
  }
  if (days.length > MOST_HOLIDAYS)
    reader.report('bad-value', doc, `the list \`${text}\` has more than ${MOST_HOLIDAYS} days`)
  const wrong = days.find((day) => typeof day !== 'string' || !isDate(day))
  if (wrong === undefined) return days.map(String).sort()
  return reader.report(
    'bad-value',
    doc,
    `the list \`${text}\` has \`${wrong}\`, which is no date such as \`2027-01-01\``,
  )
}
