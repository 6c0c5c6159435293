/** The members of standard error that progress uses. */
export interface ProgressOutput {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  write(text: string): unknown
}

/**
 * Replaces the detail on the line, such as `1,200 of 5,000 records`. The function is cheap enough for every step of a
 * loop.
 */
export type Tell = (detail: string) => void

/** Shortest time between two drawings of the line, ms. */
const REDRAW_MS = 100
/** Shortest elapsed time that the line shows, ms. */
const WORTH_TIMING_MS = 1_000
const CLEAR = '\r\x1b[2K'

/**
 * Runs `run` and shows the task, its progress and its time in a line on standard error. The line disappears when `run`
 * ends. Without a terminal, the function writes no line.
 *
 * @param what name of the task, such as `Verifying the export`
 */
export async function withProgress<T>(
  what: string,
  run: (tell: Tell) => Promise<T> | T,
  { out = process.stderr, now = Date.now }: { out?: ProgressOutput; now?: () => number } = {},
): Promise<T> {
  if (out.isTTY !== true) return run(() => undefined)
  const line = createLine(what, out, now)
  const timer = setInterval(line.draw, REDRAW_MS)
  timer.unref()
  try {
    line.draw()
    return await run(line.tell)
  } finally {
    clearInterval(timer)
    out.write(CLEAR)
  }
}

interface Line {
  readonly draw: () => void
  readonly tell: Tell
}

function createLine(what: string, out: ProgressOutput, now: () => number): Line {
  const start = now()
  let detail = ''
  let drawn = -Infinity
  const draw = (): void => {
    drawn = now()
    const elapsed = drawn - start
    const seconds = elapsed < WORTH_TIMING_MS ? '' : `${Math.floor(elapsed / 1_000)} s`
    const about = [detail, seconds].filter((part) => part !== '').join(', ')
    const text = about === '' ? `${what} ...` : `${what} ... ${about}`
    out.write(`${CLEAR}${text.slice(0, columnsOf(out) - 1)}`)
  }
  const tell = (text: string): void => {
    detail = text
    // a loop that never awaits keeps the timer from running
    if (now() - drawn >= REDRAW_MS) draw()
  }
  return { draw, tell }
}

/** A terminal that does not know its width reports 0. */
const columnsOf = ({ columns = 0 }: ProgressOutput): number => (columns > 1 ? columns : 80)

/** A count with separators: `12,345`. */
export const counted = (count: number): string => count.toLocaleString('en-US')
