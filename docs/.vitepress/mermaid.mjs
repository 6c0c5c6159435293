/**
 * Diagrams of Mermaid, drawn at build time without a browser. Colours are variables of the theme, so one picture serves
 * light and dark.
 */
import { renderMermaidSVG } from 'beautiful-mermaid'

const COLOURS = {
  bg: 'var(--vp-c-bg)',
  fg: 'var(--vp-c-text-1)',
  line: 'var(--vp-c-text-2)',
  accent: 'var(--vp-c-brand-1)',
  muted: 'var(--vp-c-text-2)',
  surface: 'var(--vp-c-bg-soft)',
  border: 'var(--vp-c-text-3)',
}

const SPACES = { padding: 8, nodeSpacing: 16, layerSpacing: 32 }

/** Renders one diagram. Throws when Mermaid cannot read it: the build fails. */
export function diagram(source) {
  const svg = renderMermaidSVG(source.trim(), { ...COLOURS, ...SPACES, transparent: true })
  // theme/style.css has the rules of this style element: it would load a font from another server
  const picture = svg.replace(/<style>[\s\S]*?<\/style>/, '').replace(/ width="[\d.]+" height="[\d.]+"/, '')
  const [, width = '640'] = /viewBox="0 0 ([\d.]+)/.exec(svg) ?? []
  return `<figure class="diagram" style="--width:${Math.ceil(Number(width))}px" v-pre>${picture}</figure>`
}
