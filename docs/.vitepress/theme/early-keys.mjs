/**
 * The box of the search is loaded when a reader opens the search. These listeners keep what the reader types before the
 * box is there, and give it to the box.
 */
const INPUT = '#localsearch-input'

const isOpener = (event) =>
  (event.key === '/' && !isEdited(event.target)) ||
  (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey))

const isEdited = (element) =>
  element.isContentEditable || ['INPUT', 'SELECT', 'TEXTAREA'].includes(element.tagName)

/** Keeps early keys on every page. Call it once, in a browser. */
export function keepEarlyKeys() {
  /** Text typed since the reader opened the search; undefined except while the box is loaded. */
  let typed

  const open = () => {
    if (typed !== undefined || document.querySelector(INPUT) !== null) return
    typed = ''
    new MutationObserver((_, observer) => {
      const input = document.querySelector(INPUT)
      if (input === null) return
      observer.disconnect()
      hand(input, typed ?? '')
      typed = undefined
    }).observe(document.body, { childList: true, subtree: true })
  }

  const keep = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === 'Backspace') typed = typed.slice(0, -1)
    else if (event.key.length === 1) typed += event.key
    else return
    event.preventDefault()
    event.stopPropagation()
  }

  window.addEventListener(
    'keydown',
    (event) => {
      if (typed !== undefined && !isEdited(event.target)) keep(event)
      else if (isOpener(event)) open()
    },
    true,
  )
  window.addEventListener('click', ({ target }) => target.closest?.('#local-search') && open(), true)
}

/** Gives the box the typed text. The box selects its text a moment later, and the next key would replace the text. */
function hand(input, typed) {
  const toEnd = () => input.setSelectionRange(input.value.length, input.value.length)
  input.addEventListener('input', () => (input.select = toEnd), { once: true })
  if (typed === '') return
  input.value = typed
  input.dispatchEvent(new Event('input', { bubbles: true }))
}
