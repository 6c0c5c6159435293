import { type Browser, chromium } from 'playwright-core'
import { ensureProgram } from './debian.ts'

/** Without windows, and so at less than half the processor time of the whole browser. */
const CHROMIUM = 'chromium-headless-shell'

/** Starts a Chromium, which is installed when it is missing. */
export function launchBrowser(): Promise<Browser> {
  ensureProgram(CHROMIUM, CHROMIUM)
  return chromium.launch({
    executablePath: `/usr/bin/${CHROMIUM}`,
    args: ['--no-sandbox', '--disable-gpu'],
  })
}
