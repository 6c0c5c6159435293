import { computed, signal } from '@preact/signals'
import { announce } from '../shell/announce.tsx'
import { spoken } from '../text/because-text.ts'
import type { Hindrance } from '../text/hindrance.ts'
import { BREAK_MS, type Coverage, createCoverage } from './coverage.ts'
import { isLegible, POINTS_IN_ROW, rowsOf, visiblePoints } from './points.ts'

/** A part of a call that a reviewer must have on the screen before an approval. */
interface Part {
  /** Its name, and the names of the parts whose whole value it shows. */
  readonly names: readonly string[]
  readonly element: HTMLElement
  coverage: Coverage
  readonly hindrances: Set<Hindrance>
}

export type Parts = ReturnType<typeof createParts>

const LOOK_EVERY_MS = 100
/** The time without a movement of the page before the first approval, ms. No key meant for another call approves. */
export const STILL_MS = 1_000

/** The looks at the parts: which of them were seen, and for how long. */
function createLooks(isNeeded: (name: string) => boolean) {
  const parts = signal<readonly Part[]>([])
  const seen = signal<ReadonlySet<string>>(new Set())
  /** True once all parts were seen and the call has not moved for `STILL_MS`. */
  const ready = signal(false)
  /** True once a part was not wholly on the screen. The keys that move through such a call never decide. */
  const paged = signal(false)
  const missing = computed(() => {
    const names = parts.value.flatMap((part) => part.names)
    return [...new Set(names)].filter((name) => !seen.value.has(name) && isNeeded(name))
  })
  const unseen = (): Part[] =>
    parts.value.filter(({ names }) => names.some((name) => missing.value.includes(name)))
  const notePaging = (): void => {
    if (unseen().some(isAway)) paged.value = true
  }
  let places = ''
  let movedAt = 0
  let last = -Infinity
  let ms = 0

  function look(now: number): void {
    const here = !document.hidden && now - last <= BREAK_MS
    if (here) ms += now - last
    last = now
    const moved = parts.value.map(({ element }) => element.getBoundingClientRect().top).join()
    if (!here || moved !== places) movedAt = now
    places = moved
    const found = parts.value.filter(
      (part) => part.names.some((name) => !seen.value.has(name)) && isSeen(part, now),
    )
    if (found.length > 0) seen.value = new Set([...seen.value, ...found.flatMap(({ names }) => names)])
    const still = now - movedAt >= STILL_MS
    if (still) notePaging()
    ready.value = parts.value.length > 0 && missing.value.length === 0 && (ready.value || still)
  }

  /** Forgets the looks at parts whose content changed. */
  function forgetThese(names: readonly string[]): void {
    seen.value = new Set([...seen.value].filter((name) => !names.includes(name)))
    ready.value = false
  }

  /** Forgets all looks: another revision is another call. */
  function forget(): void {
    for (const part of parts.value) part.coverage = createCoverage()
    seen.value = new Set()
    ready.value = false
    paged.value = false
    places = ''
    ms = 0
  }

  /** `time`: how long the call was on the screen, ms. */
  return {
    parts,
    seen,
    ready,
    paged,
    missing,
    unseen,
    notePaging,
    look,
    forget,
    forgetThese,
    time: (): number => ms,
  }
}

/**
 * The parts of the shown revision, in their order on the page, and which of them were seen.
 *
 * @param isNeeded true for the parts that an approval needs now
 */
export function createParts(isNeeded: (name: string) => boolean = () => true) {
  const { parts, unseen, notePaging, look, ...looks } = createLooks(isNeeded)
  const { missing, ready, paged } = looks
  /** True while the next Enter approves a call that was paged. */
  const armed = signal(false)

  /**
   * Opens the folds of all parts that were not seen, and scrolls to the first line of a part that was not shown. By
   * default, the part is the first one: then this shows the next screen. The key that shows the last one also moves the
   * focus to the button.
   */
  function leadTo(name = missing.value[0], byKey = false): void {
    const part = parts.value.findLast(({ names }) => names.includes(name ?? ''))
    // a part may have been seen since the link to it was drawn
    if (part === undefined || name === undefined || !missing.value.includes(name)) return
    announce(`Not seen: ${spoken(name)}`)
    notePaging()
    for (const { hindrances } of unseen()) for (const { open } of hindrances) open?.()
    // after the folds are drawn
    setTimeout(() => {
      const [closed] = part.hindrances
      if (closed) closed.element.scrollIntoView({ block: 'center' })
      else scrollToUnseen(part)
      if (byKey && unseen().every(endsHere)) arm()
    })
  }

  /** Moves the focus to the button, so that the next Enter decides. */
  function arm(): void {
    document.querySelector<HTMLElement>('.bar .approve')?.focus()
    armed.value = true
  }

  return {
    ...looks,
    armed,
    leadTo,
    /** Shows the next screen. Returns false when each part was seen. */
    page: (): boolean => {
      const more = missing.value.length > 0
      if (more) leadTo(undefined, true)
      return more
    },
    /**
     * One act to approve: true when it decides. Before, it shows the next screen.
     *
     * @param byKey true for the key that also moves. In a call that was paged, it moves the focus to the button
     */
    decides: (byKey: boolean): boolean => {
      if (missing.value.length > 0) {
        if (byKey || !armed.value) leadTo(undefined, byKey)
      } else if (ready.value && byKey && paged.value) {
        arm()
        announce(ENTER)
        return false
      }
      return ready.value
    },
    /** Parts whose content changed were not seen yet. Shows them, unless a part before them was not seen either. */
    showAgain: (names: readonly string[]): void => {
      looks.forgetThese(names)
      // after they are drawn
      setTimeout(() => {
        if (names.includes(missing.value[0] ?? '') && unseen().some(isAway)) leadTo()
      })
    },
    /** Looks at the page until the returned act is called. */
    watch: (): (() => void) => {
      const timer = setInterval(() => look(performance.now()), LOOK_EVERY_MS)
      return () => clearInterval(timer)
    },
    add: adderTo(parts),
  }
}

/** Adds a part by its names. Returns the acts that hinder it and that remove it. */
const adderTo = (parts: { value: readonly Part[] }) => (names: readonly string[], element: HTMLElement) => {
  const part = { names, element, coverage: createCoverage(), hindrances: new Set<Hindrance>() }
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
}

/** The sentence for a call that was paged, while the focus is on its button. */
export const ENTER = 'All seen: Enter approves'

/** True for a part that is not wholly on the screen, or that has a fold. */
const isAway = ({ element, hindrances }: Part): boolean =>
  [...hindrances].some(({ open }) => open) || visiblePoints(element).includes(false)

/** True for a part whose rest is on the screen. */
const endsHere = ({ element, coverage }: Part): boolean => coverage.ends(visiblePoints(element))

const isSeen = ({ element, coverage, hindrances }: Part, now: number): boolean =>
  hindrances.size === 0 && coverage.look(visiblePoints(element), now) && isLegible(element)

const inOrder = (parts: readonly Part[]): Part[] =>
  parts.toSorted((a, b) =>
    a.element.compareDocumentPosition(b.element) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1,
  )

/** The room above a line that was scrolled to, px. */
const ABOVE = 24

function scrollToUnseen({ element, coverage }: Part): void {
  const { height, top } = element.getBoundingClientRect()
  const row = rowsOf(height)[Math.floor(Math.max(0, coverage.firstUnseen()) / POINTS_IN_ROW)] ?? 0
  const pane = element.closest('.scroll')
  const flows = pane === null || pane.scrollHeight <= pane.clientHeight
  const start = flows ? 0 : pane.getBoundingClientRect().top
  const target = flows ? globalThis : pane
  target.scrollBy(0, top + row - start - ABOVE)
}
