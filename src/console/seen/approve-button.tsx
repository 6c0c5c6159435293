import type { Parts } from './parts.ts'

interface ApproveProps {
  readonly parts: Parts
  /** The words of the button once each part was seen. */
  readonly label: string
  /** True when no call is chosen. */
  readonly none?: boolean
  readonly disabled: boolean
  readonly act: () => void
}

/**
 * The button says what is missing. While parts are missing, a press shows the next screen. In a call that was paged,
 * Space never decides, because it also moves; Enter that moves leaves the button.
 */
export function ApproveButton({ parts, label, none = false, disabled, act }: ApproveProps) {
  const length = none ? 0 : parts.missing.value.length
  const ready = parts.ready.value
  return (
    <button
      class="approve"
      aria-describedby="ready"
      aria-disabled={none || !ready}
      disabled={disabled}
      onClick={(event) => {
        if (length > 0 && !parts.armed.value) event.currentTarget.blur()
        act()
      }}
      onKeyUp={(event) => {
        if (event.key === ' ' && parts.paged.value) event.preventDefault()
      }}
      onBlur={() => {
        parts.armed.value = false
      }}
    >
      {length > 0 ? (
        <>
          <span class="sr">Approve: </span>
          {length} {length === 1 ? 'part' : 'parts'} not seen<span class="sr">, show the next screen</span>
        </>
      ) : (
        label + (ready || none ? '' : ' in a second')
      )}{' '}
      <kbd>{parts.armed.value && length === 0 ? 'Enter' : 'a'}</kbd>
    </button>
  )
}
