"""Documents from files of every kind, and one message that names everything that is wrong with them."""

from __future__ import annotations

import builtins
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config.schema import DocumentFields, KnowledgeBase
from runner.errors import ConfigurationError
from runner.knowledge import load_documents


def base(path: str | Path = "docs", **settings: Any) -> KnowledgeBase:
    return KnowledgeBase(name="kb", path=str(path), **settings)


@pytest.fixture
def folder(home: Path) -> Path:
    """The folder ``docs`` in the working directory."""
    made = Path("docs")
    made.mkdir()
    return made


def problems_of(cfg: KnowledgeBase) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load_documents(cfg)
    assert caught.value.exit_code == 1
    return [str(problem) for problem in caught.value.problems]


def test_a_folder_gives_ids_from_file_names_titles_from_headings_and_a_fixed_order(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "b.md").write_text("intro\n\n## Second\n\ntext", encoding="utf-8")
    (folder / "a.txt").write_text("plain", encoding="utf-8")
    (folder / ".hidden.md").write_text("no", encoding="utf-8")
    first, second = load_documents(base())
    assert (first.id, first.title, first.text, first.source) == ("a", "", "plain", "a.txt")
    assert (second.id, second.title, second.source) == ("sub/b", "Second", "sub/b.md")


def test_a_glob_and_a_single_file(folder: Path) -> None:
    for name in ("a.md", "b.md", "c.txt"):
        (folder / name).write_text(f"text of {name}", encoding="utf-8")
    assert [document.id for document in load_documents(base("docs/*.md"))] == ["a", "b"]
    assert [document.id for document in load_documents(base("docs/c.txt"))] == ["c"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_symptom_71_byte_order_marks_emoji_and_line_ends_of_all_systems(folder: Path, encoding: str) -> None:
    text = "# Fête “quoted” 🎓\r\n\r\nline\rlast"
    (folder / "a.md").write_bytes(text.encode(encoding))
    (document,) = load_documents(base())
    assert document.text == "# Fête “quoted” 🎓\n\nline\nlast"
    assert document.title == "Fête “quoted” 🎓"


def test_symptom_71_a_file_in_another_encoding_is_named_with_its_line_and_never_guessed(folder: Path) -> None:
    (folder / "a.md").write_bytes("good\nca\u00f1on".encode("cp1252"))
    (problem,) = problems_of(base())
    assert "a.md" in problem
    assert "line 2" in problem
    assert "UTF-8" in problem


def test_symptom_71_quotes_line_ends_commas_and_huge_cells_in_csv(folder: Path) -> None:
    huge = "word " * 60_000
    with (folder / "faq.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text"])
        writer.writerow(["1", 'He said: "no, never"\r\nand left 😀'])
        writer.writerow(["2", huge])
    first, second = load_documents(base("docs/faq.csv"))
    assert first.text == 'He said: "no, never"\nand left 😀'
    assert first.source == "faq.csv row 2"
    assert second.text == huge.strip()


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_spreadsheets_of_many_countries_write_other_delimiters(folder: Path, delimiter: str) -> None:
    (folder / "faq.csv").write_text(delimiter.join(["id", "text"]) + "\n" + delimiter.join(["x", "yes"]), "utf-8")
    assert [(document.id, document.text) for document in load_documents(base("docs/faq.csv"))] == [("x", "yes")]


@pytest.mark.parametrize("form", ["json", "wrapped", "jsonl"])
def test_json_forms_with_field_mapping_and_metadata(folder: Path, form: str) -> None:
    rows = [
        {"key": 7, "q": "Why?", "a": "Because.\u2028Really.", "section": "x", "tags": ["a"]},
        {"key": "k8", "q": "How?", "a": "So.", "section": None, "tags": []},
    ]
    name = "faq.jsonl" if form == "jsonl" else "faq.json"
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n\n"
    texts = {"json": json.dumps(rows), "wrapped": json.dumps({"version": 1, "documents": rows}), "jsonl": lines}
    (folder / name).write_text(texts[form], encoding="utf-8")
    fields = DocumentFields(id="key", text="q,a", title="q", metadata=["section", "tags"])
    first, second = load_documents(base(f"docs/{name}", fields=fields))
    assert (first.id, first.text, first.title) == ("7", "Why?\n\nBecause.\u2028Really.", "Why?")
    assert first.metadata == {"section": "x", "tags": ["a"]}
    assert (second.id, second.metadata) == ("k8", {"tags": []})


def test_rows_without_an_id_column_are_named_by_file_and_row(folder: Path) -> None:
    (folder / "faq.csv").write_text("text\none\n\ntwo\n", encoding="utf-8")
    assert [document.id for document in load_documents(base("docs/faq.csv"))] == ["faq:1", "faq:2"]


def test_html_gives_its_text_without_scripts_and_without_breaks_at_bold_words(folder: Path) -> None:
    page = """<html><head><title>Rules</title><style>p {}</style></head><body><h1>Rules</h1>
    <p>A <b>bold</b> word &amp; a&nbsp;space.</p><script>alert(1)</script>
    <ul><li>one</li><li>two</li></ul></body></html>"""
    (folder / "a.html").write_text(page, encoding="utf-8")
    (document,) = load_documents(base())
    assert document.title == "Rules"
    assert "A bold word & a space." in document.text
    assert document.text.split() == ["Rules", "A", "bold", "word", "&", "a", "space.", "one", "two"]


def test_docx_gives_paragraphs_and_tables_in_order(folder: Path) -> None:
    docx = pytest.importorskip("docx")
    made = docx.Document()
    made.add_heading("Rules", 1)
    made.add_paragraph("First paragraph.")
    table = made.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "left", "right"
    made.add_paragraph("Last.")
    made.save(str(folder / "a.docx"))
    (document,) = load_documents(base())
    assert (document.title, document.text) == ("Rules", "Rules\n\nFirst paragraph.\n\nleft | right\n\nLast.")


def pdf(text: str) -> bytes:
    """A one-page PDF, written by hand."""
    stream = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    return body + table + b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % len(body)


def test_pdf_gives_its_text_and_a_scan_or_a_broken_file_is_named(folder: Path) -> None:
    pytest.importorskip("pypdf")
    (folder / "a.pdf").write_bytes(pdf("Forty hours are needed."))
    (document,) = load_documents(base())
    assert document.text == "Forty hours are needed."
    (folder / "b.pdf").write_bytes(pdf(""))
    (folder / "c.pdf").write_bytes(b"not a pdf")
    (folder / "d.docx").write_bytes(b"not a docx")
    first, second, third = problems_of(base())
    assert "b.pdf" in first
    assert "scan" in first
    assert "c.pdf" in second
    assert "d.docx" in third


@pytest.mark.parametrize(
    ("name", "module", "extra"), [("a.pdf", "pypdf", "pdf"), ("a.docx", "docx", "docx"), ("a.html", "bs4", "html")]
)
def test_a_missing_library_is_named_with_the_extra_that_brings_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str, extra: str
) -> None:
    (folder / name).write_bytes(b"x")
    real = builtins.__import__

    def without(wanted: str, *rest: Any, **more: Any) -> Any:
        if wanted.split(".", maxsplit=1)[0] == module:
            raise ImportError(wanted)
        return real(wanted, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    (problem,) = problems_of(base())
    assert f"rag-judge-runner[{extra}]" in problem


def test_inline_documents(home: Path) -> None:
    rows = [{"id": "a", "text": "one", "title": "One"}, {"id": "b", "text": "two"}]
    first, second = load_documents(KnowledgeBase(name="kb", format="inline", documents=rows))
    assert (first.id, first.text, first.title, second.id) == ("a", "one", "One", "b")


def test_every_problem_is_listed_at_once_with_file_and_row(folder: Path) -> None:
    (folder / "a.csv").write_text("id,text\n1,fine\n2,\n,no id\n4,too,many\n1,twice\n", encoding="utf-8")
    (folder / "b.jsonl").write_text('{"id": 9, "text": "x"}\n{broken\n[1]\n{"id": 10}\n', encoding="utf-8")
    (folder / "c.md").write_text("  \n", encoding="utf-8")
    (folder / "d.json").write_text('{"a": 1}', encoding="utf-8")
    found = problems_of(base())
    starts = ["a.csv row 3", "a.csv row 4", "a.csv row 5", "b.jsonl line 2", "b.jsonl line 3", "b.jsonl line 4"]
    for start in [*starts, "a.csv row 6", "d.json"]:
        assert any(problem.startswith(start) for problem in found), start
    assert any("c.md" in problem and "no text" in problem for problem in found)
    assert len(found) == 9


def test_symptom_20_equal_ids_are_refused_and_both_places_named(folder: Path) -> None:
    (folder / "a.md").write_text("one", encoding="utf-8")
    (folder / "a.txt").write_text("two", encoding="utf-8")
    (problem,) = problems_of(base())
    assert problem.startswith("a.txt: has the document id a, as a.md has")


def test_a_missing_path_and_an_empty_folder_say_where_was_looked(folder: Path) -> None:
    (problem,) = problems_of(base("nowhere"))
    assert "knowledge_base.path: nowhere does not exist" in problem
    assert str(Path.cwd()) in problem
    (problem,) = problems_of(base())
    assert problem.startswith("knowledge_base.path: no document in docs")


def test_unclosed_quotes_in_csv_are_a_problem_with_its_row(folder: Path) -> None:
    (folder / "a.csv").write_text('id,text\n1,ok\n2,"open\n3,x\n', encoding="utf-8")
    (problem,) = problems_of(base())
    assert problem.startswith("a.csv row 3: is not valid CSV")


def test_no_knowledge_base_at_all(home: Path) -> None:
    assert load_documents(KnowledgeBase(name="none", format="none")) == ()


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(str.strip)


@given(st.lists(cells, min_size=1, max_size=5))
def test_any_text_survives_csv_and_jsonl(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    folder = tmp_path_factory.mktemp("any")
    written = io.StringIO(newline="")
    writer = csv.writer(written)
    writer.writerow(["id", "text"])
    writer.writerows([str(number), text] for number, text in enumerate(texts))
    (folder / "a.csv").write_bytes(written.getvalue().encode())
    lines = (json.dumps({"id": number, "text": text}, ensure_ascii=False) for number, text in enumerate(texts))
    (folder / "b.jsonl").write_bytes("\n".join(lines).encode())
    wanted = [text.replace("\r\n", "\n").replace("\r", "\n").strip() for text in texts]
    assert [document.text for document in load_documents(base(folder / "b.jsonl"))] == wanted
    assert [document.text for document in load_documents(base(folder / "a.csv"))] == wanted
