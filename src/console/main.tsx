import { render } from 'preact'
import { App } from './app.tsx'
import { startKeyboard } from './keyboard/keyboard.ts'
import { startRouter } from './route/router.ts'
import { startSession } from './session/session.ts'
import { startPreferences } from './shell/preferences.ts'
import { startTheme } from './shell/theme.ts'
import { startPrinting } from './text/long-text.tsx'
import { startClock } from './time/clock.ts'
import { startAttention } from './wire/attention.ts'

startTheme()
startPreferences()
startRouter()
startClock()
startKeyboard()
startAttention(document)
startPrinting(globalThis)
void startSession()
render(<App />, document.body)
