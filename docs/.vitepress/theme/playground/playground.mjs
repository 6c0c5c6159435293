import { defineComponent, h, nextTick, onBeforeUnmount, onMounted, ref, shallowRef } from 'vue'
import { createPlayground, EMPTY, rangeOfLine, textOf } from '../../../../src/playground/playground.ts'
import { RECIPES } from '../../../../src/playground/recipes.ts'
import './playground.css'

/** A bundle and a call side by side. A worker of this page evaluates them while one types. */
export const Playground = defineComponent({
  name: 'Playground',
  setup() {
    const state = shallowRef(EMPTY)
    const editor = ref(null)
    let worker
    const playground = createPlayground(state, {
      ask: (question) => worker.postMessage(question),
      mayReplace: (question) => confirm(question),
    })

    const openLink = () => playground.open(/^#((?:recipe|bundle)=.+)$/.exec(location.hash)?.[1])
    const share = async () => history.replaceState(null, '', `#${await playground.share()}`)
    const goTo = async ({ file, line }) => {
      playground.show(file)
      await nextTick()
      editor.value.focus()
      editor.value.setSelectionRange(...rangeOfLine(editor.value.value, line))
    }

    onMounted(() => {
      worker = new Worker(new URL('../../../../src/playground/worker.ts', import.meta.url), {
        type: 'module',
      })
      worker.addEventListener('message', ({ data }) => playground.answered(data))
      worker.addEventListener('error', () => playground.failed())
      addEventListener('hashchange', openLink)
      void openLink()
    })
    onBeforeUnmount(() => {
      playground.stop()
      worker?.terminate()
      removeEventListener('hashchange', openLink)
    })

    return () => {
      const { recipe, files, path, request, reply, note } = state.value
      return h('div', { class: 'playground' }, [
        h('p', { class: 'bar' }, [
          h('label', [
            'Recipe ',
            h(
              'select',
              { value: recipe, onChange: (event) => (location.hash = `#recipe=${event.target.value}`) },
              [...RECIPES.keys()].map((name) => h('option', { value: name, key: name }, name)),
            ),
          ]),
          h('button', { type: 'button', onClick: share }, 'Share as a link'),
          h('span', { role: 'status' }, note),
        ]),
        h('div', { class: 'sides' }, [
          h('div', [
            h(
              'label',
              { class: 'bar' },
              h(
                'select',
                {
                  'aria-label': 'File',
                  value: path,
                  onChange: (event) => playground.show(event.target.value),
                },
                files.map((file) => h('option', { value: file.path, key: file.path }, file.path)),
              ),
            ),
            h('textarea', {
              ref: editor,
              'aria-label': 'Text of the file',
              spellcheck: false,
              value: textOf(state.value),
              onInput: (event) => playground.edit(event.target.value),
            }),
          ]),
          h('div', [
            h('label', { class: 'bar', for: 'playground-request' }, 'Call'),
            h('textarea', {
              id: 'playground-request',
              spellcheck: false,
              value: request ?? '',
              onInput: (event) => playground.editCall(event.target.value),
            }),
          ]),
        ]),
        reply === undefined ? h('p', 'Loading the evaluator') : result(reply, goTo),
      ])
    }
  },
})

function result({ diagnostics, tests = [], decision, problem }, goTo) {
  const failed = tests.filter(({ problems }) => problems.length > 0)
  return h('div', { class: 'result', 'aria-live': 'polite' }, [
    decision === undefined
      ? h('p', { class: 'verdict none' }, `No decision: ${problem}`)
      : h('p', { class: `verdict ${decision.verdict}` }, decision.verdict),
    decision && h('pre', decision.text),
    h('h3', `Findings (${diagnostics.length})`),
    h(
      'ul',
      diagnostics.map((one) =>
        h('li', { class: one.severity }, [
          h(
            'a',
            { href: '', onClick: (event) => (event.preventDefault(), goTo(one)) },
            `${one.file}:${one.line}`,
          ),
          ` ${one.severity} ${one.code}: ${one.message}`,
          one.hint === undefined ? '' : h('small', ` ${one.hint}`),
        ]),
      ),
    ),
    h('h3', `Tests (${tests.length - failed.length} of ${tests.length} passed)`),
    h(
      'ul',
      failed.map(({ name, problems }) => h('li', { class: 'error' }, `${name}: ${problems.join('; ')}`)),
    ),
  ])
}
