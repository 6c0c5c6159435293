/** The distance between the points of a part, px: less than the height of a line. */
const STEP = 16
/** The distance of the outer points from the edges, px. */
const INSET = 2

/** The top of each row of points of a box, px from its own top. */
export function rowsOf(height: number): number[] {
  const count = Math.max(1, Math.ceil(height / STEP))
  return Array.from({ length: count }, (_, i) => Math.min((i + 0.5) * STEP, height - INSET))
}

/** For three points of each row: whether the element is what a reader sees there. */
export function visiblePoints(element: HTMLElement): boolean[] {
  const { left, right, top, width, height } = element.getBoundingClientRect()
  const there = !document.hidden && width > 0 && element.checkVisibility({ opacityProperty: true })
  const columns = [left + INSET, (left + right) / 2, right - INSET]
  return rowsOf(height).flatMap((row) => columns.map((x) => there && isOnTop(element, x, top + row)))
}

/** The bounds in a browser that cannot magnify a part of the window. */
const WHOLE = { offsetLeft: 0, offsetTop: 0, width: Infinity, height: Infinity }

/** True when the point lies in the visible part of the window, and nothing covers the element there. */
function isOnTop(element: HTMLElement, x: number, y: number): boolean {
  const { offsetLeft, offsetTop, width, height } = globalThis.visualViewport ?? WHOLE
  const [right, down] = [x - offsetLeft, y - offsetTop]
  if (Math.min(right, down) < 0 || right > width || down > height) return false
  const hit = document.elementFromPoint(x, y)
  return hit !== null && element.contains(hit)
}

export const POINTS_IN_ROW = 3

/** The least opacity and size of text that counts as seen. */
const FAINT = 0.5
const TINY_PX = 8

/**
 * True when the computed style lets a person read the text of an element. A style sheet of a reader or an extension may
 * blur, shrink, fade or hide text, or give it the colour of its ground.
 */
export function isLegible(element: HTMLElement): boolean {
  for (let up: Element | null = element; up !== null; up = up.parentElement) {
    const { opacity, filter } = getComputedStyle(up)
    if (Number(opacity) < FAINT || filter !== 'none') return false
  }
  return [element, ...element.querySelectorAll('*')].every((one) => !hasText(one) || isReadable(one))
}

const hasText = ({ childNodes }: Element): boolean =>
  [...childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim())

function isReadable(element: Element): boolean {
  const { color, fontSize, opacity, filter } = getComputedStyle(element)
  const [, alpha = '1'] = /[,/]\s*([\d.]+)\)$/.exec(color.replace(/^rgb\(.*/, '')) ?? []
  const isShown = Number.parseFloat(fontSize) >= TINY_PX && Number(opacity) >= FAINT && filter === 'none'
  return isShown && Number(alpha) >= FAINT && color !== groundOf(element)
}

/** The colour behind an element: that of the nearest element that has one. */
function groundOf(element: Element): string {
  for (let up: Element | null = element; up !== null; up = up.parentElement) {
    const { backgroundColor } = getComputedStyle(up)
    if (!/^(?:transparent|rgba\(.*, 0\))$/.test(backgroundColor)) return backgroundColor
  }
  return ''
}
