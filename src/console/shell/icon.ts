/** The icon of the tab, with the number of calls that need the reviewer's vote. */

const SIZE = 32
const RADIUS = 8
const MOST = 99

let plain: string | undefined
let drawn: string | undefined
/** The number that was asked for last: a drawing may end after a later one. */
let latest: number | undefined

/** Shows a number in the icon; none for zero. */
export function badge(count: string | undefined): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel=icon]')
  if (link === null) return
  plain ??= link.href
  const number = Number.parseInt(count ?? '0', 10)
  latest = number
  if (number === 0) link.href = plain
  else
    canvasWith(number > MOST ? `${MOST}` : `${number}`)?.toBlob((blob) => {
      if (blob === null || number !== latest) return
      if (drawn !== undefined) URL.revokeObjectURL(drawn)
      link.href = drawn = URL.createObjectURL(blob)
    })
}

function canvasWith(text: string): HTMLCanvasElement | undefined {
  const canvas = document.createElement('canvas')
  canvas.width = canvas.height = SIZE
  const draw = canvas.getContext('2d')
  if (draw === null) return undefined
  draw.fillStyle = '#0b5c6e'
  draw.beginPath()
  draw.roundRect(0, 0, SIZE, SIZE, RADIUS)
  draw.fill()
  draw.fillStyle = '#fff'
  draw.font = '700 20px system-ui, sans-serif'
  draw.textAlign = 'center'
  draw.textBaseline = 'middle'
  draw.fillText(text, SIZE / 2, SIZE / 2 + 1, SIZE - 4)
  return canvas
}
