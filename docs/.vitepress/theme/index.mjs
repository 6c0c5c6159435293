import DefaultTheme from 'vitepress/theme'
import { defineAsyncComponent } from 'vue'
import './style.css'

/** @type {import('vitepress').Theme} */
export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    // loaded on its page alone
    const load = async () => (await import('./playground/playground.mjs')).Playground
    app.component('Playground', defineAsyncComponent(load))
  },
}
