import { useSignal } from '@preact/signals'
import type { Me } from '../../contract/session.ts'
import { signOut } from '../session/session.ts'
import type { Refusal } from '../wire/call.ts'
import { ProblemNote } from '../wire/problem.tsx'
import { helpShown } from '../keyboard/keyboard.ts'
import { askToNotify, canNotify, notifying } from './notify.ts'
import { advances, setAdvances } from './preferences.ts'
import { setTheme, theme, THEMES } from './theme.ts'

/**
 * The menu with the reviewer, the theme and the sign-out. The menu is a popover, which closes on Escape or on a press
 * elsewhere.
 */
export function ProfileMenu({ me }: { readonly me: Me }) {
  const problem = useSignal<Refusal | undefined>(undefined)
  const leave = async (everywhere: boolean): Promise<void> => {
    problem.value = await signOut(everywhere)
  }
  return (
    <div class="menu">
      <button popovertarget="profile">{me.name}</button>
      <div id="profile" popover>
        <p>
          <strong>{me.reviewer}</strong> of {me.tenant}
          <br />
          <small>
            {me.groups.join(', ') || 'no group'}
            {me.owns.length > 0 && ` · answers for ${me.owns.join(', ')}`}
          </small>
        </p>
        <fieldset class="choice">
          <legend>Theme</legend>
          {THEMES.map((one) => (
            <label key={one}>
              <input type="radio" name="theme" checked={theme.value === one} onChange={() => setTheme(one)} />
              {one}
            </label>
          ))}
        </fieldset>
        <label class="check">
          <input
            type="checkbox"
            checked={advances.value}
            onChange={(event) => setAdvances(event.currentTarget.checked)}
          />
          Open the next call after a vote
        </label>
        {canNotify() && !notifying.value && (
          <button onClick={() => void askToNotify()}>Notify me on this desktop</button>
        )}
        <button
          onClick={() => {
            helpShown.value = true
          }}
        >
          Keyboard
        </button>
        <a href="#/chats">Chats</a>
        <button onClick={() => void leave(false)}>Sign out</button>
        <button onClick={() => void leave(true)}>Sign out everywhere</button>
        {problem.value && <ProblemNote problem={problem.value} />}
      </div>
    </div>
  )
}
