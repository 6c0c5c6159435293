import { readFileSync } from 'node:fs'

interface Rate {
  readonly per_second: number
  readonly share_of_bare: number
}
const FIGURES = JSON.parse(
  readFileSync(new URL('../../bench/figures.json', import.meta.url), 'utf8'),
) as Readonly<Record<'date' | 'commit', string>> & { readonly bare: number } & Readonly<
    Record<'allow' | 'review' | 'poll', Rate>
  >

const { date, commit, bare, allow, review, poll } = FIGURES
const number = (value: number): string => value.toLocaleString('en')
const cell = ({ per_second, share_of_bare }: Rate): string => `${number(per_second)} (${share_of_bare})`

/** The passages of the pages that have a figure of bench/figures.json. */
const PASSAGES: readonly (readonly [pattern: RegExp, text: string])[] = [
  [/(?<=^\| allowed calls a second \| )[^|]*(?= \|)/m, cell(allow)],
  [/(?<=^\| held calls a second \| )[^|]*(?= \|)/m, cell(review)],
  [/(?<=^\| polls a second \| )[^|]*(?= \|)/m, cell(poll)],
  [/(?<=\bCountersign was\s+measured on )[^()]+(?=\s\()/, date],
  [/(?<=\(commit `)\w+(?=`\))/, commit],
  [
    /(?<=^\| durable decisions of one gateway \(one core\) \| )[^|]*(?= \|)/m,
    `${number(allow.per_second)} allowed or ${number(review.per_second)} held calls a second. An empty Fastify route answers ${number(bare)} on the same core`,
  ],
  [/(?<=^\| polls of waiting threads \| )[^|]*(?= \|)/m, `${number(poll.per_second)} a second`],
]

/** The page with its figures from bench/figures.json. */
export const withFigures = (page: string): string =>
  PASSAGES.reduce((text, [pattern, figure]) => text.replace(pattern, figure), page)
