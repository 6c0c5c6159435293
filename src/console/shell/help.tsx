import { helpShown } from '../keyboard/keyboard.ts'
import { BINDINGS } from '../keyboard/keymap.ts'
import { Dialog } from './dialog.tsx'

const hide = (): void => {
  helpShown.value = false
}

/** The keyboard shortcuts, from the table that handles them. */
export function Help() {
  return (
    <Dialog title="Keyboard" close={hide}>
      <dl class="keys">
        {BINDINGS.map(({ keys, does, on }) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key === 'Escape' ? 'Esc' : key}</kbd>
              ))}
            </dt>
            <dd>
              {does}
              {on && <small> {on.includes('thread') ? 'in a thread' : 'in a list'}</small>}
            </dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>1</kbd>–<kbd>9</kbd>
          </dt>
          <dd>
            Insert a saved comment <small>in a thread</small>
          </dd>
        </div>
        <div>
          <dt>
            <kbd>Enter</kbd>
          </dt>
          <dd>Open the focused item</dd>
        </div>
      </dl>
      <form method="dialog">
        <button>Close</button>
      </form>
    </Dialog>
  )
}
