import DefaultTheme from 'vitepress/theme'
import { defineAsyncComponent } from 'vue'
import { keepEarlyKeys } from './early-keys.mjs'
import './style.css'

/** @type {import('vitepress').Theme} */
export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    if (!import.meta.env.SSR) keepEarlyKeys()
    // loaded on its page alone
    const load = async () => (await import('./playground/playground.mjs')).Playground
    app.component('Playground', defineAsyncComponent(load))
  },
}
