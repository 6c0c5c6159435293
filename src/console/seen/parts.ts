import { computed, signal } from '@preact/signals'
import { announce } from '../shell/announce.tsx'
import { spoken } from '../text/because-text.ts'
import type { Hindrance } from '../text/hindrance.ts'
import { BREAK_MS, type Coverage, createCoverage } from './coverage.ts'
import { POINTS_IN_ROW, rowsOf, visiblePoints } from './points.ts'

/** A part of a call that a reviewer must have on the screen before an approval. */
interface Part {
  readonly name: string
  readonly element: HTMLElement
  coverage: Coverage
  readonly hindrances: Set<Hindrance>
}

export type Parts = ReturnType<typeof createParts>

const LOOK_EVERY_MS = 100
/** The time between the last part and the first approval, ms, so that a key pressed for a part does not approve. */
export const PAUSE_MS = 400

/**
 * The parts of the shown revision, in their order on the page, and which of them were seen.
 *
 * @param isNeeded true for the parts that an approval needs now
 */
export function createParts(isNeeded: (name: string) => boolean = () => true) {
  const parts = signal<readonly Part[]>([])
  const seen = signal<ReadonlySet<string>>(new Set())
  /** True from `PAUSE_MS` after the last part was seen. */
  const ready = signal(false)
  const missing = computed(() => {
    const names = parts.value.map(({ name }) => name)
    return [...new Set(names)].filter((name) => !seen.value.has(name) && isNeeded(name))
  })
  let completeAt: number | undefined
  let last = -Infinity
  let ms = 0

  function look(now: number): void {
    if (!document.hidden && now - last <= BREAK_MS) ms += now - last
    last = now
    const found = parts.value.filter((part) => !seen.value.has(part.name) && isSeen(part, now))
    if (found.length > 0) seen.value = new Set([...seen.value, ...found.map(({ name }) => name)])
    if (missing.value.length > 0 || parts.value.length === 0) completeAt = undefined
    else completeAt ??= now
    ready.value = completeAt !== undefined && now - completeAt >= PAUSE_MS
  }

  return {
    seen,
    missing,
    ready,
    /** The time that the call was on the screen, ms. */
    time: (): number => ms,
    /** Looks at the page until the returned act is called. */
    watch: (): (() => void) => {
      const timer = setInterval(() => look(performance.now()), LOOK_EVERY_MS)
      return () => clearInterval(timer)
    },
    /** Adds a part. Returns the acts that hinder it and that remove it. */
    add: (name: string, element: HTMLElement) => {
      const part = { name, element, coverage: createCoverage(), hindrances: new Set<Hindrance>() }
      parts.value = inOrder([...parts.value, part])
      return {
        hinder: (hindrance: Hindrance) => {
          part.hindrances.add(hindrance)
          return () => part.hindrances.delete(hindrance)
        },
        remove: () => {
          parts.value = parts.value.filter((one) => one !== part)
        },
      }
    },
    /** Forgets all looks: another revision is another call. */
    forget: (): void => {
      for (const part of parts.value) part.coverage = createCoverage()
      seen.value = new Set()
      ready.value = false
      completeAt = undefined
      ms = 0
    },
    /** Leads to the next part that was not seen: opens its folds, and scrolls to its first line that was not shown. */
    leadTo: (name = missing.value[0]): void => {
      const part = parts.value.find((one) => one.name === name)
      if (part === undefined) return
      const [fold] = part.hindrances
      announce(`Not seen: ${spoken(part.name)}`)
      if (fold?.open) fold.open()
      if (fold) fold.element.scrollIntoView({ block: 'center' })
      else scrollToUnseen(part)
    },
  }
}

const isSeen = ({ element, coverage, hindrances }: Part, now: number): boolean =>
  hindrances.size === 0 && coverage.look(visiblePoints(element), now)

const inOrder = (parts: readonly Part[]): Part[] =>
  parts.toSorted((a, b) =>
    a.element.compareDocumentPosition(b.element) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1,
  )

/** The room above a line that was scrolled to, px. */
const ABOVE = 40

function scrollToUnseen({ element, coverage }: Part): void {
  const { height, top } = element.getBoundingClientRect()
  const row = rowsOf(height)[Math.floor(Math.max(0, coverage.firstUnseen()) / POINTS_IN_ROW)] ?? 0
  const pane = element.closest('.scroll')
  const flows = pane === null || pane.scrollHeight <= pane.clientHeight
  const start = flows ? 0 : pane.getBoundingClientRect().top
  const target = flows ? globalThis : pane
  target.scrollBy(0, top + row - start - ABOVE)
}
