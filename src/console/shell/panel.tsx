import type { ComponentChildren } from 'preact'

interface PanelProps {
  readonly title: string
  readonly kind?: string
  readonly note?: ComponentChildren
  readonly children: ComponentChildren
}

export function Panel({ title, kind = '', note, children }: PanelProps) {
  const id = `panel-${title.replace(/\W+/g, '-').toLowerCase()}`
  return (
    <section class={`panel ${kind}`} aria-labelledby={id}>
      <div class="head">
        <h2 id={id}>{title}</h2>
        {note}
      </div>
      {children}
    </section>
  )
}
